"""One solution of the published counts, as person records."""
