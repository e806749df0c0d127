"""gunicorn as both planes need it: a master that keeps old workers until new ones answer, and workers that say so."""
