"""SciPy's special functions without their package: the very same functions, and a package that is whole when it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gradcli.engine.backends import CPU

USED = (
    "beta", "betainc", "betaln", "digamma", "erf", "erfc", "erfcx", "erfinv", "gamma", "gammainc", "gammaln", "i0", "i1", "ndtri",
)  # fmt: skip
BEGIN = "import sys; from gradcli.engine.backends import CPU; special = CPU.special; "


def said_by(code: str) -> list[str]:
    """What a fresh process prints."""
    return subprocess.run([sys.executable, "-c", BEGIN + code], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("name", USED)
def test_they_are_those_of_the_package(name: str) -> None:
    import scipy.special

    assert getattr(CPU.special, name) is getattr(scipy.special, name)


def test_their_package_is_not_loaded() -> None:
    loads = "; ".join(f"special.{name}" for name in USED)
    loaded = said_by(f"{loads}; print(*sys.modules)")
    assert "scipy._lib" in loaded
    assert not {"scipy.special", "scipy._lib._array_api"} & {*loaded}


LATER = """
special.erf
import scipy.special, scipy.stats
print(scipy.special.erf is special.erf, scipy.special.psi is special.digamma, scipy.special._ufuncs.erf is special.erf)
print(scipy.stats.norm.cdf(0.0), scipy.special.logsumexp([0.0]), scipy.special.lambertw(0.0))
with scipy.special.errstate(all="raise"):
    try:
        special.gamma(-1.0)
    except scipy.special.SpecialFunctionError:
        print("raised")
"""


def test_the_package_is_whole_when_it_is_loaded_later() -> None:
    assert said_by(LATER) == ["True", "True", "True", "0.5", "0.0", "0j", "raised"]


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("", "lambertw"),  # which isn't one of the compiled module
        ("import scipy.special", "erf"),
        ("import threading, time; threading.Thread(target=time.sleep, args=(0.5,)).start()", "erf"),
        ("import gradcli.engine.scipy_special as door; door._COMPILED = 'scipy.special.elsewhere'", "erf"),
    ],
)
def test_otherwise_the_package_is_asked(before: str, name: str) -> None:
    code = f"\n{before}\nf = special.{name}\nprint('scipy.special' in sys.modules)\n"
    assert said_by(f"{code}import scipy.special\nprint(f is scipy.special.{name})") == ["True", "True"]
