// Python clients against /openai/v1. They need Python 3.10 (`PYTHON` names it). --only-framework NAME runs one of them.
import { join } from 'node:path'
import { finish, take } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { argument, python as programs, run } from '../lib/options.mjs'
import { pipPackages, pipVersions } from '../lib/packages.mjs'
import { program } from '../lib/program.mjs'
const STRUCTURED = 'structured outputs are refused',
  CHOICE = 'tool_choice other than auto and none is refused',
  ROUTES = 'no such route'
const refused = [
  [
    /parse · response_format|response_format json_object|text\.format|parse · text_format|text_format of a class|output_type|with_structured_output|structured_predict|^mode (TOOLS|JSON|JSON_SCHEMA|RESPONSES_TOOLS)|^schema/,
    STRUCTURED,
  ],
  [/tool_choice (required|any|of a function)/, CHOICE],
  [/^chat stop$/, '`stop` is refused'],
  [/max_tool_calls/, 'refused'],
  [
    /chat stored list|embeddings|input_items|responses delete|compact|input_tokens|conversations (update|delete|items create)|OpenAIConversationsSession/,
    ROUTES,
  ],
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
  take(name, await run(python, [join(programs, script), served.base, ...words], { limit: 240_000 }), refused)
}
await finish('clients-python', served.stop, model.close)
