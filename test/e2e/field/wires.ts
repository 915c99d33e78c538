/** Names of the wires in test names; each has an agent of this name. */
export const WIRES = ['chat', 'responses', 'messages', 'bedrock'] as const
export type Wire = (typeof WIRES)[number]
