"""Claude Code's hooks: the vocabulary that the others are translated to."""

from keepthread.server.capture.clients.adapter import Adapter
from keepthread.server.capture.events import claude_code_call

ADAPTER = Adapter(
    client="claude-code",
    ignored=frozenset(
        "PreToolUse PermissionRequest PermissionDenied SubagentStart Notification PostToolBatch "
        "TaskCompleted ConfigChange".split()
    ),
    event=lambda payload: payload,
    call=claude_code_call,
    injected=lambda text: text,
)
