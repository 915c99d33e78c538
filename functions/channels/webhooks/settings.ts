import type { Json } from '../../domain/json.ts'

export const PRESETS = ['standard', 'github', 'bearer'] as const

/**
 * How a webhook's senders are verified, and how their deliveries are used. Texts refer to secrets as `${secret:NAME}`.
 */
export interface WebhookSettings {
  readonly name: string
  readonly tenant: string
  readonly agent: string
  readonly verify: { readonly preset: (typeof PRESETS)[number]; readonly secrets: readonly string[] }
  /** Conditions: at each JSON Pointer into the body, one of these values must be present. */
  readonly when: { readonly [pointer: string]: readonly Json[] }
  readonly text: string
  readonly session: string
  readonly owner?: string
  readonly delivery?: string
  readonly callback?: { readonly url: string; readonly secret: string }
}
