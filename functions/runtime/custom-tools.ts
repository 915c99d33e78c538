import type { Tool } from '../ports/tool.ts'

/** Tools beside the built-in ones. Bundling for AWS replaces this module with that of `toolsFile`. */
export const tools: readonly Tool[] = []
