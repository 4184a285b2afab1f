"""The control of a running sandbox for Python: its time, its faults, where its fronts are."""

from collections.abc import Iterable
from contextlib import ExitStack
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import psutil

from gaelp.errors import BadInput, ComponentMissing, GaelpError, Refused
from gaelp.sandbox.control_messages import DumpAnswer, SalesAnswer, SandboxSale, SandboxStatus
from gaelp.sandbox.faults import Fault, FaultPlan
from gaelp.sandbox.process_record import SandboxRecord, forget_process, record_path, running_record
from gaelp.sandbox.spec import SandboxSpec

__all__ = ["SandboxClock", "SandboxHandle", "connect_sandbox"]

_ANSWER_SECONDS = 30.0
_LONG_SECONDS = 3600.0  # months of simulated time may pass in one request
_STOP_SECONDS = 30.0


class SandboxHandle:
    """A running sandbox; close the handle after use, which leaves the sandbox running."""

    def __init__(self, folder: Path, record: SandboxRecord) -> None:
        self.folder = folder
        self.record = record
        self._client = httpx.Client(
            base_url=f"http://127.0.0.1:{record.control_port}",
            headers={"Authorization": f"Bearer {record.token}"},
            timeout=_ANSWER_SECONDS,
            trust_env=False,  # a proxy of the environment has no business on this machine
        )

    def __enter__(self) -> Self:
        """Use it in a block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the handle."""
        self.close()

    @property
    def ports(self) -> dict[str, int]:
        """The port of each front on 127.0.0.1."""
        return self.record.ports

    @property
    def certificate_path(self) -> Path:
        """The certificate that clients have to trust."""
        return Path(self.record.certificate_path)

    def status(self) -> SandboxStatus:
        """Where it is."""
        return SandboxStatus.model_validate_json(self._ask("GET", "/status"))

    def now(self) -> datetime:
        """The simulated instant, in UTC."""
        return self.status().now

    def advance(self, to: datetime) -> datetime:
        """Let time pass up to an instant."""
        return self._change("/advance", {"to": to.isoformat()}).now

    def advance_by(self, seconds: int) -> datetime:
        """Let so many simulated seconds pass."""
        return self._change("/advance", {"seconds": seconds}).now

    def set_speed(self, speed: float) -> None:
        """Let time run, at 1 to 100,000 times the speed of wall time; 0 stops it."""
        self._change("/speed", {"speed": speed})

    def hold_at(self, until: datetime | None) -> None:
        """Let time run up to an instant and no further; None takes the barrier away."""
        self._change("/barrier", {"until": None if until is None else until.isoformat()})

    def set_faults(self, faults: Iterable[Fault] = ()) -> None:
        """Have these faults instead of those that were due; none ends them all."""
        self._ask("PUT", "/faults", FaultPlan(faults=tuple(faults)).model_dump(mode="json"))

    def faults(self) -> FaultPlan:
        """The faults that are still to come."""
        return FaultPlan.model_validate_json(self._ask("GET", "/faults"))

    def set_click_factor(self, factor: float) -> None:
        """Multiply the click rates of all adverts from now on, also after a restart; 1 ends this fault."""
        self._change("/click-rate", {"factor": factor})

    def reset(self, *, seed: int | None = None, spec: SandboxSpec | None = None) -> None:
        """Forget everything and begin again; the clock is stopped."""
        self._change("/reset", {"seed": seed, "spec": None if spec is None else spec.model_dump(mode="json")})

    def suspend(self, front: str, account: str, *, suspended: bool = True) -> None:
        """Suspend an account as the platform would, or reinstate it."""
        self._change("/suspend", {"front": front, "account": account, "suspended": suspended})

    def sales(self, first: date, last: date, *, account: str | None = None) -> tuple[SandboxSale, ...]:
        """The shop's own sales of clicks on these days of the account, refunds included; of the first customer."""
        asked = {"first": first.isoformat(), "last": last.isoformat(), **({"account": account} if account else {})}
        answer = self._ask("GET", f"/sales?{httpx.QueryParams(asked)}")
        return SalesAnswer.model_validate_json(answer).sales

    def dump_sha256(self) -> str:
        """The hash of the canonical dump."""
        return DumpAnswer.model_validate_json(self._ask("GET", "/dump")).sha256

    def stop(self) -> None:
        """End the process and wait for it; killed if it does not end in time, which loses nothing."""
        if (process := self.record.process()) is not None:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except psutil.TimeoutExpired:
                self.kill()
        self.close()

    def kill(self) -> None:
        """End the process at once, as kill -9 does; the world continues from there at the next start."""
        if (process := self.record.process()) is not None:
            process.kill()
            process.wait(_STOP_SECONDS)
        forget_process(self.folder)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _change(self, path: str, message: dict[str, Any]) -> SandboxStatus:
        return SandboxStatus.model_validate_json(self._ask("POST", path, message))

    def _ask(self, method: str, path: str, message: dict[str, Any] | None = None) -> bytes:
        try:
            answer = self._client.request(
                method, path, json=message, timeout=_LONG_SECONDS if message else _ANSWER_SECONDS
            )
        except httpx.HTTPError as problem:
            raise ComponentMissing(
                f"the sandbox in {self.folder} (process {self.record.pid}) does not answer on port"
                f" {self.record.control_port} ({type(problem).__name__}): start it again (`gaelp sandbox start`)"
            ) from problem
        if answer.status_code != httpx.codes.OK:
            raise self._refusal(answer)
        return answer.content

    def _refusal(self, answer: httpx.Response) -> GaelpError:
        if answer.status_code in {httpx.codes.UNAUTHORIZED, httpx.codes.NOT_FOUND, httpx.codes.MISDIRECTED_REQUEST}:
            return GaelpError(
                f"port {self.record.control_port} is not the control of the sandbox in {self.folder}: another program"
                f" or another home's sandbox uses it. Remove {record_path(self.folder)} and start the sandbox again"
            )
        try:
            said = _described(answer.json()["detail"])
        except (ValueError, KeyError, TypeError):
            said = answer.text
        kinds = {409: Refused, 400: BadInput, 422: BadInput}
        return kinds.get(answer.status_code, GaelpError)(said)


def _described(detail: Any) -> str:
    """What the control says: a sentence, or which fields of a request are wrong and why."""
    if not isinstance(detail, list):
        return str(detail)
    return "; ".join(f"{wrong['loc'][-1]}: saw {wrong['input']!r}. {wrong['msg']}" for wrong in detail)


class SandboxClock:
    """A clock of gaelp.clock that follows a sandbox's time."""

    def __init__(self, handle: SandboxHandle) -> None:
        self._handle = handle

    def now(self) -> datetime:
        """The simulated instant, in UTC."""
        return self._handle.now()


def connect_sandbox(folder: Path) -> SandboxHandle:
    """The sandbox that runs in a folder."""
    record = running_record(folder)
    if record is None:
        raise ComponentMissing(f"no sandbox runs in {folder}: start one with `gaelp sandbox start`")
    with ExitStack() as undo:
        handle = undo.enter_context(SandboxHandle(folder, record))
        if (other := handle.status().folder) != str(folder):
            raise GaelpError(
                f"{record_path(folder)} leads to the sandbox in {other}: remove that file, and start this folder's own"
            )
        undo.pop_all()
    return handle
