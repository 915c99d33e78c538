/** What somebody thinks of an answer. */
export type Rating = 'positive' | 'negative'

/** One person's rating of a message. */
export interface Feedback {
  readonly rating: Rating
  /** As `user` of messages. */
  readonly user: string
  /** When it was given, in milliseconds since 1970. */
  readonly at: number
}

/** People whose ratings one message keeps: they stand in its row. */
export const MAX_RATINGS = 100

/**
 * The ratings of a message with one more. Each person has one, the latest, whatever order they are stored in. Undefined if nothing
 * changes: it was stored before, the same person has changed their mind since, or there is no room for another person.
 */
export function withFeedback(given: readonly Feedback[], one: Feedback): readonly Feedback[] | undefined {
  const place = given.findIndex(({ user }) => user === one.user)
  const former = given[place]
  if (former === undefined) return given.length < MAX_RATINGS ? [...given, one] : undefined
  return former.at < one.at ? given.with(place, one) : undefined
}

/** The ratings that people have given, each once. */
export const ratingsOf = (given: readonly Feedback[] = []): Rating[] => [...new Set(given.map(({ rating }) => rating))]
