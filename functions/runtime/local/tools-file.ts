import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Tool } from '../../ports/tool.ts'
import { SettingsError } from '../settings/settings-error.ts'

/** Reads the `tools` that the module at `path` exports. Rejects with `SettingsError`, which names the path. */
export async function readTools(path: string): Promise<readonly Tool[]> {
  let module: { readonly tools?: unknown }
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as { readonly tools?: unknown }
  } catch (error) {
    throw new SettingsError(`TOOLTRAIL_TOOLS: ${path}: ${(error as Error).message}`, { cause: error })
  }
  const { tools } = module
  if (!Array.isArray(tools) || !tools.every(isTool))
    throw new SettingsError(`TOOLTRAIL_TOOLS: ${path} must export "tools", a list of tools made with defineTool`)
  return tools
}

const isTool = (value: unknown): value is Tool =>
  typeof value === 'object' && value !== null && 'name' in value && 'execute' in value && 'parameters' in value
