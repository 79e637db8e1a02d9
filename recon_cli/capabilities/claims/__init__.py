"""Verified claims: what every solution says about some columns of some people."""
