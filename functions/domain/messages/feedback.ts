/** A person's opinion of an answer. */
export type Rating = 'positive' | 'negative'

/** One person's rating of a message. */
export interface Feedback {
  readonly rating: Rating
  /** The person, as in the field `user` of messages. */
  readonly user: string
  /** Time of the rating, in milliseconds since 1970. */
  readonly at: number
}

/** Limit of the people whose ratings one message keeps, because the ratings are part of its row. */
export const MAX_RATINGS = 100

/**
 * Adds a rating to those of a message. Each person has one rating, the latest by time, in whatever order ratings are
 * stored. Returns undefined if nothing changes: this or a later rating of the person is stored already, or the limit of
 * people is reached.
 */
export function withFeedback(given: readonly Feedback[], one: Feedback): readonly Feedback[] | undefined {
  const place = given.findIndex(({ user }) => user === one.user)
  const former = given[place]
  if (former === undefined) return given.length < MAX_RATINGS ? [...given, one] : undefined
  return former.at < one.at ? given.with(place, one) : undefined
}

/** The ratings that people have given, each value once. */
export const ratingsOf = (given: readonly Feedback[] = []): Rating[] => [...new Set(given.map(({ rating }) => rating))]
