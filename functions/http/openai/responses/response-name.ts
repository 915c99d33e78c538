/** The name under which a Response is stored in its session. */
export const nameOfResponse = (id: string): string => `response ${id}`

/** The name that marks a Response as deleted. It is never removed while the session exists. */
export const nameOfDeletion = (id: string): string => `deleted response ${id}`
