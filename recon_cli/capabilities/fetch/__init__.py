"""Published files from the publisher's site: found, downloaded, checked, remembered."""

from recon_cli.capabilities.fetch.catalogue import (
    DEFAULT_RELEASE,
    catalogued_releases,
    load_catalogue,
)
from recon_cli.capabilities.fetch.census_api import ApiOrder, ask, queries
from recon_cli.capabilities.fetch.delivery import Delivery, Order, deliver

__all__ = [
    "DEFAULT_RELEASE",
    "ApiOrder",
    "Delivery",
    "Order",
    "ask",
    "catalogued_releases",
    "deliver",
    "load_catalogue",
    "queries",
]
