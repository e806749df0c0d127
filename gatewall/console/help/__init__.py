"""Help: the documentation (docs/) served by the control plane, and the topic of each page of the console."""
