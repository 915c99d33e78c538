import { setTimeout as sleep } from 'node:timers/promises'
import { startDynamodb } from './dynamodb.ts'
import { installLambda } from './lambda.ts'
import { startOpensearch } from './opensearch.ts'
import { startS3 } from './s3.ts'
import { startSqs } from './sqs.ts'
import type { Engine } from './process.ts'

export const ENGINE_NAMES = ['dynamodb', 'opensearch', 's3', 'sqs'] as const
export type EngineName = (typeof ENGINE_NAMES)[number]
/** Names that suites can require: the servers, and the program that runs functions as Lambda does. */
export const NEED_NAMES = [...ENGINE_NAMES, 'lambda'] as const
export type NeedName = (typeof NEED_NAMES)[number]

/** Time for an engine that is there already to respond at all. */
const REACH_MS = 30_000

const START: { readonly [name in NeedName]: () => Promise<Engine> } = {
  dynamodb: startDynamodb,
  lambda: installLambda,
  opensearch: startOpensearch,
  s3: startS3,
  sqs: startSqs,
}

/** `DYNAMODB_ENDPOINT` and its like: an engine that is already there. */
export const endpointVariable = (name: NeedName): string => `${name.toUpperCase()}_ENDPOINT`

/** The engine that its variable names, or one started here; rejects with the reason when it cannot be had. */
export async function startEngine(name: NeedName): Promise<Engine> {
  const given = process.env[endpointVariable(name)]
  if (given === undefined || given === '') return START[name]()
  if (name !== 'lambda') await reach(endpointVariable(name), given)
  return { endpoint: given, stop: () => Promise.resolve() }
}

/** Any response will do: most engines refuse a request that is about nothing. One that was just started may take a moment. */
async function reach(variable: string, endpoint: string): Promise<void> {
  const deadline = Date.now() + REACH_MS
  for (;;) {
    try {
      await fetch(endpoint, { signal: AbortSignal.timeout(REACH_MS) })
      return
    } catch (cause) {
      if (Date.now() > deadline) throw new Error(`nothing responds at ${variable}=${endpoint}`, { cause })
      await sleep(500)
    }
  }
}
