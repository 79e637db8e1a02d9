"""The sections of a report, one module each: `Findings` and words in, a `Section` out."""
