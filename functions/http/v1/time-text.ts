/** ISO 8601, UTC, with milliseconds. */
export const timeText = (milliseconds: number): string => new Date(milliseconds).toISOString()
