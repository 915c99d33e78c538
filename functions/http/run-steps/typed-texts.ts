import type { RunStep } from './run-step.ts'

/**
 * Creates a filter for the steps of a run with a format. The filter holds back the leader's texts until their
 * completion is stored. It drops the texts of completions with calls, and of completions that were requested again. So
 * the client gets only texts that must have the format. Without a format, all steps pass.
 */
export function createTypedTexts(isTyped: boolean): (step: RunStep) => readonly RunStep[] {
  let held: RunStep[] = []
  return (step) => {
    if (!isTyped || step.type === 'notice' || step.parentToolCallId !== undefined) return [step]
    switch (step.type) {
      case 'text':
        held.push(step)
        return []
      case 'round':
      case 'discard':
        held = []
        return [step]
      case 'completion': {
        const texts = step.message.toolCalls.length === 0 ? held : []
        held = []
        return [...texts, step]
      }
      default:
        return [step]
    }
  }
}
