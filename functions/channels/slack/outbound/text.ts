/** Whether the text mentions this bot. */
export const mentions = (text: string, bot: string): boolean => mentionOf(bot).test(text)

/** What somebody wrote, without mentions of this bot, and with the three characters that Slack escapes. */
export const withoutMention = (text: string, bot: string): string =>
  unescaped(text.replaceAll(mentionOf(bot, 'g'), ' ')).trim()

/** As people typed it: Slack escapes these three characters and no other. */
export const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')

/** For texts of ours: names must not become mentions, links or formatting. */
export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/**
 * A text that neither we nor a person has written: it tells no channel, group or whole workspace. The character that breaks such a
 * mention has no width, and stands behind what a text that is still growing may end with.
 */
export const withoutBroadcasts = (text: string): string => text.replaceAll(/<!(?=[cehgs])/g, '<!\u2060')

/** With the blanks before and after it, of which one stays between words. */
const mentionOf = (bot: string, flags = ''): RegExp => new RegExp(`[ \\t]*<@${bot}(?:\\|[^>]*)?>[ \\t]*`, flags)
