/** Formats a time as ISO 8601, in UTC, with milliseconds. */
export const timeText = (milliseconds: number): string => new Date(milliseconds).toISOString()
