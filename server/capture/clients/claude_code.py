"""Claude Code's hooks: the vocabulary that the others are translated to."""

from keepthread.server.capture.clients.adapter import Adapter
from keepthread.server.capture.events import claude_code_call

ADAPTER = Adapter(
    client="claude-code",
    ignored=frozenset(
        "PreToolUse PermissionRequest PermissionDenied SubagentStart Notification PostToolBatch "
        "TaskCompleted ConfigChange".split()
    ),
    fields=frozenset(
        "prompt_id effort duration_ms mcp_server error is_interrupt session_title "
        "agent_transcript_path background_tasks session_crons custom_instructions "
        "compact_summary context_tokens estimated_cache_write_usd "
        "prompt_cache_likely_expired seconds_since_last_response".split()
    ),
    event=lambda payload: payload,
    call=claude_code_call,
    injected=lambda text: text,
)
