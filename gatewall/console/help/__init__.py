"""Help: the documentation (docs/) served by the control plane, and which page explains which page of the console."""
