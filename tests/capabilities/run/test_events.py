"""What programs are told of a run: JSON lines."""

from __future__ import annotations

import io
import json
import time

import pytest

from recon_cli.capabilities.run import events as events_module
from recon_cli.capabilities.run.events import JsonLinesReporter
from recon_cli.progress import FinishedPartition, Task

BLOCKS = Task("reconstruct", "block", 73_000, 1_204_000)


def test_events_are_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "_EVERY", 0.02)
    stream = io.StringIO()
    events = JsonLinesReporter(stream)
    with events.bar(BLOCKS) as bar:
        bar.advance(2, 30, {"unique": 1, "open": 1})
        time.sleep(0.1)
    events.finished(FinishedPartition("reconstruct", "county 01073", 1.23456, 250.5))
    events.note("größer")
    events.detail("nobody asks")
    found = [json.loads(each) for each in stream.getvalue().splitlines()]
    *progress, part, note = found
    assert len(progress) >= 2
    last = progress[-1]
    assert last["event"] == "progress"
    assert (last["units"], last["units_total"]) == (2, 73_000)
    assert (last["people"], last["people_total"]) == (30, 1_204_000)
    assert last["statuses"] == {"unique": 1, "open": 1}
    assert part == {
        "event": "partition_done",
        "time": part["time"],
        "stage": "reconstruct",
        "partition": "county 01073",
        "seconds": 1.235,
        "peak_mb": 250.5,
    }
    assert (note["event"], note["text"]) == ("note", "größer")
    assert all(each["time"].endswith("Z") and len(each["time"]) == 24 for each in found)
