// Python clients against /openai/v1. They need Python 3.10; the variable `PYTHON` is its path. --only-framework NAME
// runs the checks of one client.
import { join } from 'node:path'
import { finish, take } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { argument, python as programs, run } from '../lib/options.mjs'
import { pipPackages, pipVersions } from '../lib/packages.mjs'
import { program } from '../lib/program.mjs'
const notOffered = [
  [/^chat handoff$/, 'a request without tools keeps those of the run'],
  [/max_tool_calls/, 'the limit of rounds is a setting of the agent'],
  [/chat stored list|embeddings|compact/, 'no such route'],
]
const model = await scriptedModel(),
  served = await program({ model })
const families = {
  openai: [['openai'], 'openai_python.py', []],
  agents: [['openai-agents'], 'agents_python.py', []],
  langchain: [['langchain-openai', 'langchain', 'langgraph'], 'frameworks_python.py', ['langchain']],
  llamaindex: [['llama-index-llms-openai-like', 'llama-index-llms-openai'], 'frameworks_python.py', ['llamaindex']],
  pydanticai: [['pydantic-ai-slim[openai]'], 'frameworks_python.py', ['pydanticai']],
  instructor: [['instructor', 'openai'], 'frameworks_python.py', ['instructor']],
  llm: [['llm'], 'frameworks_python.py', ['llm']],
  litellm: [['litellm'], 'frameworks_python.py', ['litellm']],
}
for (const [name, [packages, script, words]] of Object.entries(families)) {
  if (argument('only-framework', name) !== name) continue
  const python = pipPackages(`clients-${name}`, packages)
  console.log(pipVersions(python, [...new Set([...packages.map((p) => p.replace(/\[.*/, '')), 'openai'])]))
  take(name, await run(python, [join(programs, script), served.base, ...words], { limit: 240_000 }), notOffered)
}
await finish('clients-python', served.stop, model.close)
