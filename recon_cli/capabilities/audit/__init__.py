"""The audit of protected counts: what the other published counts give away of each."""
