"""Settings of a swap: packaged, or a YAML file of the same form."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from recon_cli.errors import ConfigError
from recon_cli.strict_yaml import parse_yaml, read_text

Share = Annotated[float, Field(ge=0, le=1)]
Three = tuple[Share, Share, Share]

_PREFIX, _SUFFIX = "swap_", ".yaml"


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Experimental(_Settings):
    """The study's experimental swap (Appendix C).

    Attributes:
        method: Says which kind of settings these are.
        rate: Share of households to swap.
        size_noise: Probabilities that the match key is the household size less one, the size,
            or the size plus one.
        pseudo_tract: Probabilities that a household looks for partners from its own tract, from
            that of another household in its county, or in its state.
    """

    method: Literal["experimental"]
    rate: Share
    size_noise: Three
    pseudo_tract: Three

    @model_validator(mode="after")
    def _sums(self) -> Self:
        for name in ("size_noise", "pseudo_tract"):
            if abs(sum(getattr(self, name)) - 1) > 1e-9:
                raise ValueError(f"{name}: three probabilities that sum to 1 are expected")
        return self


class Targeted(_Settings):
    """A swap of households at risk.

    Attributes:
        method: Says which kind of settings these are.
        sizes: Block sizes, sorted.
        rates: Share of households swapped in blocks of those sizes; between them it is
            interpolated on the logarithm of the size.
        unique_race: Factor of the probability that a household is chosen when a member's race and
            ethnicity are unique in the block, in blocks of those sizes.
    """

    method: Literal["targeted"]
    sizes: tuple[Annotated[float, Field(gt=0)], ...]
    rates: tuple[Share, ...]
    unique_race: tuple[Annotated[float, Field(ge=1)], ...]

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        lengths = {len(self.sizes), len(self.rates), len(self.unique_race)}
        if len(lengths) != 1 or list(self.sizes) != sorted(set(self.sizes)):
            raise ValueError("sizes must rise; rates and unique_race need one number for each")
        return self


Swap = Experimental | Targeted
#: Settings of either kind, which ``method`` distinguishes.
SwapSettings = Annotated[Swap, Field(discriminator="method")]
_ADAPTER: TypeAdapter[Swap] = TypeAdapter(SwapSettings)


def packaged_swaps() -> tuple[str, ...]:
    """List the names of the packaged settings.

    >>> packaged_swaps()
    ('hi', 'lo', 'targeted')
    """
    files = resources.files(__package__).iterdir()
    names = (file.name for file in files if file.name.startswith(_PREFIX))
    return tuple(
        sorted(n.removeprefix(_PREFIX).removesuffix(_SUFFIX) for n in names if n.endswith(_SUFFIX))
    )


def load_swap(name: str) -> Swap:
    """Load packaged settings by name, or a file by path.

    Raises:
        ConfigError: There are no settings of that name, or something in them is wrong.
    """
    if name.endswith((".yaml", ".yml")):
        text = read_text(Path(name))
    elif name in packaged_swaps():
        resource = resources.files(__package__) / f"{_PREFIX}{name}{_SUFFIX}"
        text = resource.read_text(encoding="utf-8")
    else:
        known = ", ".join(packaged_swaps())
        raise ConfigError(f"no swap {name!r} (packaged: {known}; or the path of a .yaml file)")
    try:
        return _ADAPTER.validate_python(parse_yaml(text, source=f"swap {name!r}").data)
    except ValidationError as error:
        raise ConfigError(f"swap {name!r}: {error}") from error
