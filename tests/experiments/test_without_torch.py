"""Figures are listed where torch is not installed, as everything but networks is drawn there."""

import subprocess
import sys

CODE = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NoTorch())
from linrep.figures import experiment
from linrep._lib.scripts import available

for name in available():
    experiment.load(name)
print("loaded")
"""


def test_every_script_loads_without_torch():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("loaded\n", "")
