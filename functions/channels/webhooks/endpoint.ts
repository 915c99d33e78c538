import { isDeepStrictEqual } from 'node:util'
import { sha256 } from '../../domain/hash.ts'
import { countedFor, type Caps } from '../../access/rates.ts'
import { channelMayEnter } from '../../access/sessions.ts'
import type { AgentService } from '../../agent/service/agent-service.ts'
import type { Agent } from '../../domain/agent.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { Json } from '../../domain/json.ts'
import { withFoldedNumbers } from '../../log/json/exact-json.ts'
import type { Session } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { InboundEndpoint, Refusal } from '../../ports/inbound-endpoint.ts'
import type { Logger } from '../../ports/logger.ts'
import type { Received } from '../../ports/received.ts'
import type { SessionDeletion } from '../../ports/session-deletion.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { callbackDelivery } from '../callbacks/state.ts'
import { readBytes, TOO_LARGE } from '../read-bytes.ts'
import { isSigned, readBody, sessionIdOf, sessionOfDelivery } from './receive.ts'
import type { WebhookSettings } from './settings.ts'
import { fillTemplate, valueAt, type Delivered } from './template.ts'

const PREFIX = '/webhooks/'
/**
 * How long a delivery is remembered. Afterwards, only the run's idempotency key, which is remembered slightly longer,
 * prevents a duplicate.
 */
const KNOWN_MS = 86_400_000
/**
 * Limit of an owner, and length of the hash at the end of a truncated owner, in characters. The hash keeps such owners
 * distinct.
 */
const MAX_OWNER_CHARACTERS = 256
const OWNER_HASH = 16
/** Limit of a shown delivery id, in characters. */
const MAX_SHOWN_CHARACTERS = 2_048

export interface WebhookDependencies {
  readonly webhooks: ReadonlyMap<string, WebhookSettings>
  readonly service: Pick<AgentService, 'submit' | 'assertCapacity'>
  readonly sessions: Pick<SessionStore, 'read' | 'create'>
  readonly deletion: Pick<SessionDeletion, 'state'>
  readonly received: Received
  readonly agents: ReadonlyMap<string, Agent>
  /** The operator's limits. Only the tenant's budget applies to deliveries. */
  readonly caps: Caps
  /** Replaces the secret names in a setting with the current secrets. */
  readonly filled: (text: string) => Promise<string>
  /** Whether this process executes the runs. */
  readonly here: boolean
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * Creates the endpoint for webhooks. Each delivery becomes one input of the session that the webhook's settings name.
 * The response does not wait for the run. When the tenant's daily budget is used up, new deliveries are rejected with
 * `tenant_budget_used_up` until the next day. A delivery that was accepted before keeps its run.
 */
export function createWebhookEndpoint(dependencies: WebhookDependencies): InboundEndpoint {
  return { path: `${PREFIX}*`, open: (request) => take(dependencies, request) }
}

const NOT_FOUND: Refusal = { status: 404, code: 'not_found', detail: 'there is nothing at this address' }
const UNSIGNED: Refusal = { status: 401, code: 'bad_signature', detail: 'the signature is wrong, missing or too old' }

async function take(dependencies: WebhookDependencies, request: Request): Promise<Response | Refusal> {
  const name = new URL(request.url).pathname.split(PREFIX)[1] ?? ''
  const webhook = dependencies.webhooks.get(name)
  if (webhook === undefined) return NOT_FOUND
  const bytes = await readBytes(request)
  if (bytes === undefined) return TOO_LARGE
  const { preset, secrets } = webhook.verify
  let known: readonly string[]
  try {
    known = await Promise.all(secrets.map(dependencies.filled))
  } catch (error) {
    dependencies.logger.error('a webhook has no secret', error, { webhook: name })
    return { status: 503, code: 'webhook_unavailable', detail: 'this webhook cannot check signatures now: retry later' }
  }
  if (!isSigned(preset, known, request.headers, bytes)) return UNSIGNED
  const read = readBody(bytes, request.headers.get('content-type') ?? '')
  if ('status' in read) return read
  return accept(dependencies, webhook, { ...read, headers: request.headers, bytes })
}

interface Signed extends Delivered {
  readonly bytes: Buffer
}

async function accept(
  dependencies: WebhookDependencies,
  webhook: WebhookSettings,
  delivered: Signed,
): Promise<Response | Refusal> {
  const sent = fillTemplate(webhook.delivery ?? DELIVERIES[webhook.verify.preset], delivered)
  const bodyHash = sha256(delivered.bytes)
  const own = webhook.delivery === undefined && webhook.verify.preset === 'bearer' ? bodyHash : sent.text
  if (own === '' || (sent.missing.length > 0 && own !== bodyHash)) return unusable('delivery', sent.missing)
  const id = own.slice(0, MAX_SHOWN_CHARACTERS)
  if (!isWanted(webhook, delivered.body)) return Response.json({ object: 'delivery', id, ignored: true })
  const named = fillTemplate(webhook.session, delivered)
  if (named.missing.length > 0) return unusable('session', named.missing)
  // GitHub's id header is not signed. So deliveries from GitHub are also recognized by their body.
  const bodies = webhook.verify.preset === 'github' ? [`${webhook.name}:body:${bodyHash}`] : []
  const place = { tenant: webhook.tenant, webhook: webhook.name, owner: ownerIn(webhook, delivered) }
  const names = [`${webhook.name}:id:${own}`, ...bodies]
  const first = await remember(dependencies, webhook, names, {
    id,
    session: await sessionOfDelivery(dependencies, { ...place, name: sessionIdOf(named.text) }),
    keyHash: keyHashOf(webhook, own),
  })
  const runId = await forgettingRefused(dependencies, { tenant: webhook.tenant, names, known: first }, () =>
    submit(dependencies, webhook, delivered, first),
  )
  return Response.json({ object: 'delivery', id: first.id, session_id: first.session, run_id: runId }, { status: 202 })
}

const DELIVERIES = { standard: '{{header:webhook-id}}', github: '{{header:x-github-delivery}}', bearer: '-' } as const

interface Known {
  readonly id: string
  readonly session: string
  /** The hash for the run's idempotency key. */
  readonly keyHash: string
}

const valueOf = ({ id, session, keyHash }: Known): string => JSON.stringify([id, session, keyHash])

interface Remembered {
  readonly tenant: string
  readonly names: readonly string[]
  readonly known: Known
}

/**
 * Runs `accept`. If the delivery is rejected, forgets it, because a repetition needs a new session if the delivery's
 * session is deleted later. If that session is already deleted, an earlier request may have accepted the delivery. The
 * delivery then stays remembered, so that a repetition starts nothing.
 */
async function forgettingRefused<Result>(
  { received, deletion }: Pick<WebhookDependencies, 'received' | 'deletion'>,
  { tenant, names, known }: Remembered,
  accept: () => Promise<Result>,
): Promise<Result> {
  try {
    return await accept()
  } catch (error) {
    const isRefused = error instanceof TooltrailError && error.code !== 'storage_failed'
    if (isRefused && (await deletion.state({ tenant, session: known.session })) === undefined)
      await received.forget(tenant, names, valueOf(known))
    throw error
  }
}

/** Hashes the whole id, even if only a part of it is shown. */
const keyHashOf = ({ name }: WebhookSettings, id: string): string => sha256(`webhook ${name} ${id}`)

async function remember(
  { received, clock }: WebhookDependencies,
  webhook: WebhookSettings,
  names: readonly string[],
  { id, session, keyHash }: Known,
): Promise<Known> {
  const until = clock.now() + KNOWN_MS
  const value = await received.remember(webhook.tenant, names, valueOf({ id, session, keyHash }), until)
  // An earlier version did not store the key's hash, but derived the key from the shown id.
  const [knownId, knownSession, knownHash] = JSON.parse(value) as [string, string, string?]
  return { id: knownId, session: knownSession, keyHash: knownHash ?? keyHashOf(webhook, knownId) }
}

async function submit(
  dependencies: WebhookDependencies,
  webhook: WebhookSettings,
  delivered: Signed,
  { session, keyHash }: Known,
): Promise<string> {
  const { service, caps, here } = dependencies
  const owner = ownerIn(webhook, delivered)
  const found = await sessionOf(dependencies, webhook, session, owner)
  if (!channelMayEnter(found, owner))
    throw new TooltrailError('owner_not_allowed', `session ${session} belongs to another owner`)
  const to = webhook.callback && fillTemplate(webhook.callback.url, delivered).text
  const isAsked = webhook.callback?.url.startsWith('{{') === true
  const delivery =
    to === undefined || to === '' ? undefined : callbackDelivery(`webhook:${webhook.name}`, isAsked ? to : undefined)
  const idempotency = { keyHash, bodyHash: 'webhook' }
  const parts = [{ type: 'text', text: fillTemplate(webhook.text, delivered).text }] as const
  const user = owner === '' ? undefined : owner
  const fields = {
    parts,
    clientTools: [],
    onBusy: 'queue',
    idempotency,
    ...definedFields({ user, delivery }),
    ...countedFor({ tenant: webhook.tenant }, caps),
  } as const
  return (await service.submit(found, fields, { here })).runId
}

const ownerIn = ({ owner }: WebhookSettings, delivered: Signed): string =>
  owner === undefined ? '' : ownerOf(fillTemplate(owner, delivered).text)

/** A long owner gets a hash, so that owners with the same beginning stay distinct. */
function ownerOf(rendered: string): string {
  if (rendered.length <= MAX_OWNER_CHARACTERS) return rendered
  const cut = rendered.slice(0, MAX_OWNER_CHARACTERS - OWNER_HASH - 1).toWellFormed()
  return `${cut}-${sha256(rendered).slice(0, OWNER_HASH)}`
}

/**
 * Returns the session, or creates it if the limits allow a new run. If two deliveries create the session concurrently,
 * both use the one that was created first.
 */
async function sessionOf(
  { sessions, agents, service, caps }: WebhookDependencies,
  { tenant, agent }: WebhookSettings,
  session: string,
  owner: string,
): Promise<Session> {
  const key = { tenant, session }
  const found = await sessions.read(key)
  if (found !== undefined) return found
  await service.assertCapacity(tenant, countedFor({ tenant }, caps))
  const ttlDays = agents.get(agent)?.policies.ttlDays ?? undefined
  try {
    return await sessions.create({
      ...key,
      agent,
      metadata: {},
      byChannel: true,
      ...definedFields({ ttlDays, owner: owner === '' ? undefined : owner }),
    })
  } catch (error) {
    const made =
      error instanceof TooltrailError && error.code === 'session_exists' ? await sessions.read(key) : undefined
    if (made === undefined) throw error
    return made
  }
}

const isWanted = ({ when }: WebhookSettings, body: Json): boolean =>
  Object.entries(when).every(([pointer, wanted]) => {
    const value = valueAt(body, pointer)
    // Numbers are compared by their exact values: `10.00` equals 10, and integers beyond 2^53 are not rounded.
    const found = withFoldedNumbers(value)
    return wanted.some((one) => isDeepStrictEqual(withFoldedNumbers(one), found))
  })

const unusable = (field: string, missing: readonly string[]): Refusal => ({
  status: 422,
  code: 'delivery_incomplete',
  detail: `the delivery has no value where the setting ${field} points to`,
  errors: missing.map((place) => ({ path: field, message: `${place} points to nothing` })),
})
