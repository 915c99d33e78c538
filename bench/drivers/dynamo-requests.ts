import { completionOf, makeTool } from '../../test/agent/harness.ts'
import type { Turn } from '../../test/agent/harness.ts'
import { openDynamoHarness } from '../made/dynamo-harness.ts'
Error.stackTraceLimit = 80
import { fillerText } from '../made/filler-text.ts'
const SHOWN = Number(process.argv[2] ?? 10), MODEL_MS = Number(process.argv[3] ?? 0)
const log: any[] = []; const t0 = performance.now()
const mark = (text: string) => void log.push({ at: performance.now() - t0, text })
let number = 0, shown = false
const script = Array.from({ length: SHOWN * 3 + 9 }, (): Turn => complete)
const work = makeTool('work', async (input) => { mark('-- tool'); return { text: fillerText(2_048, (input as any).n * 1_000) } })
async function* complete(request: any): AsyncGenerator<any, void> {
  mark('-- model asked'); if (shown && MODEL_MS) await new Promise((r) => setTimeout(r, MODEL_MS))
  const isAnswer = request.messages.at(-1)?.role === 'tool'
  const turn = isAnswer ? { text: fillerText(500, number) } : { calls: [{ id: 'call-1', name: 'work', arguments: `{"n":${number}}` }] }
  if ((turn as any).text !== undefined) yield { type: 'text.delta', part: 0, text: (turn as any).text }
  mark('-- model answered'); yield { type: 'completion', completion: completionOf(turn as any) }
}
const harness = await openDynamoHarness({ script, tools: [work] })
const { meter } = harness
const key = (k: any) => `${k?.sk?.S ?? ''}`.replace(/[0-9A-Z]{26}/g, 'ID')
const describe = (name: string, i: any): string => {
  if (i.TransactItems) return i.TransactItems.map((x: any) => { const [op, v] = Object.entries(x)[0] as any; return `${op} ${key(v.Item ?? v.Key)}` }).join(', ')
  if (i.RequestItems) return Object.values(i.RequestItems).flatMap((r: any) => r.Keys.map((k: any) => key(k) + (r.ConsistentRead ? ' (strong)' : ''))).join(', ')
  if (i.KeyConditionExpression) return `${i.IndexName ?? ''} ${i.KeyConditionExpression} ${JSON.stringify(Object.values(i.ExpressionAttributeValues ?? {}).map((v: any) => String(v.S ?? v.N).replace(/[0-9A-Z]{26}/g, 'ID')))} limit ${i.Limit} ${i.ScanIndexForward === false ? 'desc' : ''} ${i.ConsistentRead ? 'strong' : ''}`
  return `${key(i.Key)} ${i.ConsistentRead ? 'strong' : ''} ${i.UpdateExpression ?? ''}`.slice(0, 200)
}
meter.client.middlewareStack.add((next: any, context: any) => async (args: any) => { const name = String(context.commandName).replace(/Command$/, ''); const st = (new Error().stack ?? '').split('\n').filter((l) => /functions\/(agent|adapters\/dynamodb\/(log|[a-z-]*\.ts)|http)|test\//.test(l)).map((l) => l.replace(/.*(functions|test)\//, '$1/').replace(/:\d+\)?$/, '')).join(' < '); const e: any = { st, at: performance.now() - t0, text: `${name} ${describe(name, args.input)}`, request: meter.requests.at(-1) }; log.push(e); try { return await next(args) } finally { e.until = performance.now() - t0 } }, { step: 'initialize', name: 'x', priority: 'low' } as any)
for (number = 1; number <= SHOWN; number++) {
  shown = number === SHOWN
  log.length = 0; const first = meter.requests.length
  await harness.settled(await harness.submit(fillerText(200, number * 7)))
  if (!shown) continue
  const rs = meter.requests.slice(first)
  console.log(`turn ${number}: requests ${rs.length}, writes ${rs.filter((r) => r.writeUnits > 0).length}, write units ${rs.reduce((s, r) => s + r.writeUnits, 0)}, read units ${rs.reduce((s, r) => s + r.readUnits, 0)}, up ${rs.reduce((s, r) => s + r.up, 0)}`)
  for (const e of log) console.log((e.at - log[0].at).toFixed(0).padStart(6), e.until ? (e.until - log[0].at).toFixed(0).padStart(6) : '      ', e.text.slice(0, 330), '\n            ' + (e.st ?? ''), e.request ? `[W ${e.request.writeUnits} R ${e.request.readUnits} up ${e.request.up}]` : '')
}
await harness.close(); process.exit()
