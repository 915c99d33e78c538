import type { Json } from '../../domain/json.ts'

export const PRESETS = ['standard', 'github', 'bearer'] as const

/** How a webhook's senders are known, and what becomes of what they send. Texts of secrets name them: `${secret:NAME}`. */
export interface WebhookSettings {
  readonly name: string
  readonly tenant: string
  readonly agent: string
  readonly verify: { readonly preset: (typeof PRESETS)[number]; readonly secrets: readonly string[] }
  /** By JSON Pointer into the body: one of the values must stand there. */
  readonly when: { readonly [pointer: string]: readonly Json[] }
  readonly text: string
  readonly session: string
  readonly owner?: string
  readonly delivery?: string
  readonly callback?: { readonly url: string; readonly secret: string }
}
