"""An agent loop with memory: python agent_loop.py "What is the CI timeout?" """

import subprocess
import sys

import anthropic

from keepthread.server.agent_loop import open_loop

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
SHELL = {"name": "shell", "description": "Run a shell command.", "input_schema": COMMAND}


def shell(command: str) -> str:
    return subprocess.check_output(command, shell=True, text=True, stderr=subprocess.STDOUT)


def main(prompt: str) -> str:
    model, messages = anthropic.Anthropic(), [{"role": "user", "content": prompt}]
    with open_loop() as loop:
        system = loop.window()  # what earlier sessions left: goal, plan, decisions, facts, last steps
        loop.append_prompt(prompt)  # the user's words: they alone back instructions
        while True:
            answer = model.messages.create(
                model="claude-haiku-4-5", max_tokens=4096, system=system, messages=messages,
                tools=[SHELL, *loop.tools],
            )  # fmt: skip
            messages.append({"role": "assistant", "content": answer.content})
            used = [block for block in answer.content if block.type == "tool_use"]
            if not used:
                said = "".join(block.text for block in answer.content if block.type == "text")
                loop.append_answer(said)
                return said
            results = [loop.run(u.name, u.input, u.id, {"shell": shell}) for u in used]
            messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    print(main(sys.argv[1]))
