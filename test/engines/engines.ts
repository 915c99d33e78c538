import { setTimeout as sleep } from 'node:timers/promises'
import { startDynamodb } from './dynamodb.ts'
import { installLambda } from './lambda.ts'
import { startOpensearch } from './opensearch.ts'
import { startS3 } from './s3.ts'
import { startSqs } from './sqs.ts'
import type { Engine } from './process.ts'

export const ENGINE_NAMES = ['dynamodb', 'opensearch', 's3', 'sqs'] as const
export type EngineName = (typeof ENGINE_NAMES)[number]
/** Names that suites can require: the servers, and the program that runs functions like Lambda. */
export const NEED_NAMES = [...ENGINE_NAMES, 'lambda'] as const
export type NeedName = (typeof NEED_NAMES)[number]

/** Time limit for the response of an engine that already runs. */
const REACH_MS = 30_000

const START: { readonly [name in NeedName]: () => Promise<Engine> } = {
  dynamodb: startDynamodb,
  lambda: installLambda,
  opensearch: startOpensearch,
  s3: startS3,
  sqs: startSqs,
}

/** Name of the variable with the address of an engine that already runs, such as `DYNAMODB_ENDPOINT`. */
export const endpointVariable = (name: NeedName): string => `${name.toUpperCase()}_ENDPOINT`

/** Returns the engine that its variable names, or starts one. Rejects with the reason if the engine is unavailable. */
export async function startEngine(name: NeedName): Promise<Engine> {
  const given = process.env[endpointVariable(name)]
  if (given === undefined || given === '') return START[name]()
  if (name !== 'lambda') await reach(endpointVariable(name), given)
  return { endpoint: given, stop: () => Promise.resolve() }
}

/**
 * Waits until the engine responds. Any response is enough, because most engines refuse an empty request. A new engine may
 * need a moment.
 */
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
