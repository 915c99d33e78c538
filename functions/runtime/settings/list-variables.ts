import * as z from 'zod'

const hostText = 'must be a list of host or host:port (at most 65535), with commas between'
const host = z
  .string()
  .regex(/^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/, hostText)
  .refine((text) => text.endsWith(']') || Number(/:(\d+)$/.exec(text)?.[1] ?? 0) <= 65_535, hostText)
/** As browsers send it: with a slash at the end it would never be theirs. */
const origin = z
  .string()
  .regex(
    /^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^/?#@\s,A-Z]+)$/,
    'must be a list of origins, such as https://app.example.com, with commas between, or *',
  )
const entries = (text: string): string[] => text.split(',').map((entry) => entry.trim())

/** Variables that are lists. */
export const listVariables = {
  TOOLTRAIL_ALLOWED_HOSTS: z
    .string()
    .transform((text) => entries(text.toLowerCase()))
    .pipe(z.array(host))
    .optional(),
  TOOLTRAIL_CORS_ORIGINS: z.string().transform(entries).pipe(z.array(origin)).optional(),
}
