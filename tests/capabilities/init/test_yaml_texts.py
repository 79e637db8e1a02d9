"""Texts as YAML: those that are themselves are written without asking the library."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from recon_cli.capabilities.init.schema_draft import flow


@given(st.text("abYnoe0 _-:#'1.", min_size=1, max_size=8))
def test_what_is_written_as_it_is_reads_back_as_a_text(text: str) -> None:
    assert yaml.safe_load(flow(text)) == text
    assert flow(text) == str(yaml.safe_dump(text, width=10**6)).removesuffix("...\n").strip()
