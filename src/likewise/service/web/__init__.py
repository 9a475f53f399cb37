"""The pages on the web: routes that fill the models of the console and the dashboard."""

from likewise.service.web.install import install_pages

__all__ = ["install_pages"]
