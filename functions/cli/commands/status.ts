import type { Connection } from '../connect.ts'
import { print, printJson } from '../terminal.ts'

const MAX_SESSIONS = 100

/** Shows the state of a program: its health, sessions with a run in progress, and today's usage. */
export async function showStatus(
  { client, url }: Connection,
  { json = false }: { readonly json?: boolean },
): Promise<void> {
  const today = new Date().toISOString().slice(0, 10)
  const [running, paused, usage] = await Promise.all([
    client.listSessions({ run_status: 'running', limit: MAX_SESSIONS }),
    client.listSessions({ run_status: 'paused', limit: MAX_SESSIONS }),
    client.readUsage({ by: 'day', from: today }),
  ])
  const tokens = usage.data.reduce((sum, { usage: { total_tokens } }) => sum + (total_tokens ?? 0), 0)
  const completions = usage.data.reduce((sum, entry) => sum + entry.completions, 0)
  if (json) return printJson({ url, running: running.data.length, paused: paused.data.length, completions, tokens })
  const many = ({ data, has_more }: { data: readonly unknown[]; has_more: boolean }): string =>
    `${data.length}${has_more ? ' or more' : ''}`
  print(`running sessions  ${many(running)}\npaused sessions   ${many(paused)}\n`)
  print(`today (UTC)       ${completions} completions, ${tokens} tokens\n`)
}
