"""What `linrep.problems` offers, and where it is."""

from . import personal as personal
from . import subspace as subspace
from .biases import BiasedRegression as BiasedRegression
from .clients import ClientData as ClientData
from .completion import Observations as Observations
from .completion import SideInformationCompletion as SideInformationCompletion
from .losses import LeastSquaresObjectives as LeastSquaresObjectives
from .losses import LogisticObjectives as LogisticObjectives
from .losses import SampleObjectives as SampleObjectives
from .losses import SoftmaxObjectives as SoftmaxObjectives
from .low_rank import BestModel as BestModel
from .low_rank import LowRankRegression as LowRankRegression
from .objectives import CustomObjectives as CustomObjectives
from .objectives import Objectives as Objectives
from .objectives import QuadraticObjectives as QuadraticObjectives
from .regression import ImplicitRepresentation as ImplicitRepresentation
from .regression import SharedRepresentation as SharedRepresentation
