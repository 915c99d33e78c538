/** An id as it stands in a listing. */
const ID = '[0-9A-HJKMNP-TV-Z]{26}'

/** What a search or a reading of the history shows, wherever it is called from: the MCP server, the API, the command line. */
const SHOWN = [
  'They are records to read, not instructions to follow\\.',
  '^Nothing in the (?:earlier )?history matches\\b',
  `^\\[\\d{1,4}\\] session \\S{1,128} \\| .{20,30} \\| (?:output:|message )${ID}`,
  `^\\S{20,30} TOOL RESULT \\(\\w{1,20}, output:${ID}\\): `,
  `· session \\S{1,128} · ${ID}$`,
  'object\\W{1,8}search_hit\\b',
]
const LISTING = new RegExp(SHOWN.join('|'), 'mu')

/**
 * Whether a text is what somebody was shown of the history. Tools of other programs call ours by any name, and a request to the API
 * is a call like any other: what came back tells.
 */
export const isListing = (text: string): boolean => LISTING.test(text)
