import type { Tool } from '../ports/tool.ts'

/** Tools beside the built-in ones. Bundling for AWS puts the module of `toolsFile` in place of this one. */
export const tools: readonly Tool[] = []
