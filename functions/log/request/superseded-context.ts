import type { MessageRange, SessionContext } from '../../domain/context.ts'
import { isInRanges } from '../../domain/runs/replacement.ts'

/**
 * Removes the decisions that refer to superseded messages, so that they are decided again before the next request. A
 * summary never covers a superseded message.
 */
export function withoutSupersededDecisions(decided: SessionContext, ranges: readonly MessageRange[]): SessionContext {
  if (ranges.length === 0) return decided
  const isSuperseded = (id: string | undefined): boolean => id !== undefined && isInRanges(ranges, id)
  const { cut, trial, media, decided: scale, ...rest } = decided
  // If a trial is undone, the decisions from before the trial apply again. They may refer to superseded messages.
  const isTrialGone = isSuperseded(trial?.at) || isSuperseded(trial?.before?.cut?.from)
  return {
    ...rest,
    ...(cut === undefined || isSuperseded(cut.from) ? {} : { cut }),
    ...(trial === undefined || isTrialGone || isSuperseded(cut?.from) ? {} : { trial }),
    ...(media === undefined || isSuperseded(media.from) ? {} : { media }),
    ...(scale === undefined || isSuperseded(scale.at) || isSuperseded(cut?.from) ? {} : { decided: scale }),
  }
}
