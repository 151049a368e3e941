"""Products of long rows where vectors have 32 registers, as with AVX-512: more sums at a time."""

import numba
from llvmlite.binding import get_host_cpu_features

from linrep.kernels.jit import kernel


def _has_32_registers():
    """Tell it of the processor that kernels are compiled for: in the portable mode an older one."""
    features = numba.config.CPU_FEATURES
    if features is None:
        try:
            return get_host_cpu_features().get("avx512vl", False)
        except RuntimeError:  # some processors are not asked
            return False
    return "+avx512vl" in features.split(",")


#: Whether kernels may use 32 vector registers.
WIDE = _has_32_registers()


@kernel
def project_by_fives(X, BT, Z):
    """Write (X B)^T into Z by five samples and five directions; return for how many samples.

    The samples after the last five are left, and all if k is no multiple of five. Twenty-five sums
    fit into 32 registers with what they are made from, and read two thirds of what twelve do.
    """
    m, d = X.shape
    k = BT.shape[0]
    whole = 0 if k % 5 else m - m % 5
    for j in range(0, whole, 5):
        x0, x1, x2, x3, x4 = X[j], X[j + 1], X[j + 2], X[j + 3], X[j + 4]
        for a in range(0, k, 5):
            b0, b1, b2, b3, b4 = BT[a], BT[a + 1], BT[a + 2], BT[a + 3], BT[a + 4]
            s0, s1, s2, s3, s4 = 0.0, 0.0, 0.0, 0.0, 0.0
            t0, t1, t2, t3, t4 = 0.0, 0.0, 0.0, 0.0, 0.0
            u0, u1, u2, u3, u4 = 0.0, 0.0, 0.0, 0.0, 0.0
            v0, v1, v2, v3, v4 = 0.0, 0.0, 0.0, 0.0, 0.0
            w0, w1, w2, w3, w4 = 0.0, 0.0, 0.0, 0.0, 0.0
            for column in range(d):
                b = b0[column]
                s0 += x0[column] * b
                s1 += x1[column] * b
                s2 += x2[column] * b
                s3 += x3[column] * b
                s4 += x4[column] * b
                b = b1[column]
                t0 += x0[column] * b
                t1 += x1[column] * b
                t2 += x2[column] * b
                t3 += x3[column] * b
                t4 += x4[column] * b
                b = b2[column]
                u0 += x0[column] * b
                u1 += x1[column] * b
                u2 += x2[column] * b
                u3 += x3[column] * b
                u4 += x4[column] * b
                b = b3[column]
                v0 += x0[column] * b
                v1 += x1[column] * b
                v2 += x2[column] * b
                v3 += x3[column] * b
                v4 += x4[column] * b
                b = b4[column]
                w0 += x0[column] * b
                w1 += x1[column] * b
                w2 += x2[column] * b
                w3 += x3[column] * b
                w4 += x4[column] * b
            _put_five(Z[a], j, s0, s1, s2, s3, s4)
            _put_five(Z[a + 1], j, t0, t1, t2, t3, t4)
            _put_five(Z[a + 2], j, u0, u1, u2, u3, u4)
            _put_five(Z[a + 3], j, v0, v1, v2, v3, v4)
            _put_five(Z[a + 4], j, w0, w1, w2, w3, w4)
    return whole


@kernel
def _put_five(z, j, z0, z1, z2, z3, z4):
    z[j], z[j + 1], z[j + 2], z[j + 3], z[j + 4] = z0, z1, z2, z3, z4
