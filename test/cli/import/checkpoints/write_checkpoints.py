"""Writes langgraph.sqlite: pip install langgraph==1.2.22 langgraph-checkpoint-sqlite==3.1.2, then python3 write_checkpoints.py"""

import os
import sqlite3

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

FILE = os.path.join(os.path.dirname(__file__), "langgraph.sqlite")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


@tool
def run_shell(command: str) -> str:
    """Runs a command."""
    if command == "fail":
        raise ValueError("exit code 1")
    return "frame= 240 fps=60: done, ünïcode 漢字"


@tool
def ask(question: str) -> str:
    """Asks a person."""
    return str(interrupt(question))


def call(name, id, **args):
    return {"name": name, "args": args, "id": id}


def model(state):
    last = state["messages"][-1]
    if not isinstance(last, HumanMessage):
        return {"messages": [AIMessage("It is done.")]}
    text = str(last.content)
    if "convert" in text:
        said = [{"type": "text", "text": "I convert it."}]
        calls = [call("run_shell", "c1", command="ffmpeg -i a.mov -crf 28 a.mp4"), call("run_shell", "c2", command="fail")]
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "input_token_details": {"cache_read": 3}}
        return {"messages": [AIMessage(said, tool_calls=calls, usage_metadata=usage, response_metadata={"model_name": "claude-x"})]}
    if "ship" in text:
        return {"messages": [AIMessage("", tool_calls=[call("ask", "c3", question="Ship it?")])]}
    if "forget" in text:
        return {"messages": [RemoveMessage(state["messages"][0].id), AIMessage("Forgotten.")]}
    return {"messages": [AIMessage("Seen.")]}


def graph(**more):
    made = StateGraph(MessagesState)
    made.add_node("model", model)
    made.add_node("tools", ToolNode([run_shell, ask], handle_tool_errors=True))
    made.add_edge(START, "model")
    made.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END, ["tools", END])
    made.add_edge("tools", "model")
    return made.compile(**more)


if os.path.exists(FILE):
    os.remove(FILE)
connection = sqlite3.connect(FILE, check_same_thread=False)
saver = SqliteSaver(connection)
app = graph(checkpointer=saver)


def say(app, thread, *messages):
    app.invoke({"messages": list(messages)}, {"configurable": {"thread_id": thread}})


FILMS = "5b0c1c1e-1111-4222-8333-444455556666"
say(app, FILMS, SystemMessage("You convert films."), HumanMessage("convert the film"))
picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PIXEL}}
say(app, FILMS, HumanMessage([{"type": "text", "text": "look"}, picture]))
say(app, "ship / 1", HumanMessage("ship it"))
say(app, "short", HumanMessage("the first thing"))
say(app, "short", HumanMessage("forget it"))


def worker(state):
    done = graph(checkpointer=True).invoke({"messages": [HumanMessage("convert in private")]})
    return {"messages": [AIMessage(done["messages"][-1].content)]}


team = StateGraph(MessagesState)
team.add_node("worker", worker)
team.add_edge(START, "worker")
team.add_edge("worker", END)
say(team.compile(checkpointer=saver), "team", HumanMessage("have it done"))
connection.execute("VACUUM")
connection.execute("PRAGMA journal_mode = DELETE")
connection.close()
