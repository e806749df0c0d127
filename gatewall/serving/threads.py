"""gunicorn's worker of the control plane: a thread for each request, because requests wait for the database."""

import signal

from gunicorn.workers.gthread import ThreadWorker

from gatewall.serving.answering import ENDING, AnsweringWorker


class ThreadsWorker(AnsweringWorker, ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """gunicorn's own, which tells our master from when it answers."""

    def run(self) -> None:
        """Serve until told to end, and end when what is under way is answered."""
        for each in ENDING:
            signal.signal(each, self.handle_exit if each is signal.SIGTERM else self.handle_quit)
        self.say_it_answers()
        try:
            super().run()
        finally:
            self.wsgi.close()
