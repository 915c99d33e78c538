import type { Tool } from '../ports/tool.ts'

/**
 * Custom tools, in addition to the built-in ones. Bundling for AWS replaces this module with the module at `toolsFile`.
 */
export const tools: readonly Tool[] = []
