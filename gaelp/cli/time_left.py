"""How long counted work will still take, from its recent speed."""

from collections import deque

__all__ = ["TimeLeft", "duration_text"]

_UNITS_COUNTED = 20  # the speed of the last so many reports: long enough for a validation every few rounds
_MINUTE_S, _HOUR_S = 60, 3600


class TimeLeft:
    """Estimates the end of `total` units of work, of which `done` were done before it began; times in seconds.

    The first report often includes what is done only once, such as compiling: it counts only until there is a second.
    """

    def __init__(self, total: float, done: float, now: float) -> None:
        self._total = total
        self._reports = deque([(now, done)], maxlen=_UNITS_COUNTED + 1)
        self._is_first = True

    def note(self, done: float, now: float) -> None:
        """Note that so many units are done; fewer than before, after a rollback, start the measurement again."""
        _, before = self._reports[-1]
        if done < before:
            self._reports.clear()
        elif done == before:
            return
        elif len(self._reports) > 1 and self._is_first:
            self._reports.popleft()
            self._is_first = False
        self._reports.append((now, done))

    def seconds(self, now: float) -> float | None:
        """The seconds left, or None as long as nothing is done by which to tell."""
        (began, done_then), (last, done) = self._reports[0], self._reports[-1]
        if done <= done_then:
            return None
        return max((last - began) / (done - done_then) * (self._total - done) - (now - last), 0.0)


def duration_text(seconds: float) -> str:
    """A duration as people read it: 12 s, 3 min 05 s, 2 h 10 min."""
    whole = round(seconds)
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S:02} s"
    return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S:02} min"
