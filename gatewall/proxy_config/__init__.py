"""Configuration of reverse proxies in front of a site: one template for each file, under any prefix. No Django."""
