"""The frame of every console page: sidebar, breadcrumbs and search."""
