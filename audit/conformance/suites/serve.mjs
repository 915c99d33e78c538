// Starts the scripted model and the program, and prints both addresses. Runs until stdin ends or SIGTERM arrives.
import { scriptedModel } from '../lib/model.mjs'
import { argument, flag } from '../lib/options.mjs'
import { agents, program } from '../lib/program.mjs'
const model = await scriptedModel()
const served = await program({
  model,
  file: agents(flag('approval') ? { tools: ['current_time', 'search_history', 'read_output', 'http_fetch'] } : {}),
  env: argument('env')
    ? Object.fromEntries(
        argument('env')
          .split(',')
          .map((p) => p.split('=')),
      )
    : {},
})
console.log(JSON.stringify({ base: served.base, model: model.url, pid: process.pid, data: served.data }))
process.on('SIGTERM', async () => {
  await served.stop()
  model.close()
  process.exit(0)
})
process.on('SIGINT', async () => {
  await served.stop()
  model.close()
  process.exit(0)
})
setInterval(() => {}, 1 << 30)
