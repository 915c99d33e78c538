/**
 * This module lists words that a question needs but that carry no content. The lists are English only. Queries in other
 * languages lose little precision, because a rare word still counts.
 */
const list = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/u))

/** Words that are ignored, unless a query has no other words. */
export const FUNCTION_WORDS = list(`
  a an the and or of in on at to for from by with as is are was were be been being am it its this that these those there
  i me my mine we our ours us you your yours he him his she her they them their do does did have has had having will would
  can could should shall may might must if then than so but about into what which who whom whose why how where when
  please any some just also too not s t re ve ll d m`)

/** Words that begin a question. */
export const QUESTION_WORDS = list(`
  what which who whom whose why how where when did do does is are was were have has had can could would will should`)

/** Words that precede the subject of a question. */
export const TOPIC_WORDS = list('about on of for with in at from regarding concerning containing mentioning that to')

/** Words with a small weight in a question, and with weight 0 in its opening. */
export const FRAME_WORDS = list(`
  came come comes coming back up mentioned mention mentions mentioning return returned returns result results output outputs
  find found show showed shown look looked looking call called calls run ran runs running step steps time times
  talk talks talked talking say said says saying tell told telling ask asked asks asking answer answered answers reply
  replied remember remind recall know knew get got gave give given see saw seen use used using again last week yesterday
  earlier previously before ago today recently once exactly thing things something anything everything happen happened
  happens try tried need needed want wanted mean meant message messages conversation history discuss discussed
  discussion tool tools command invoke invoked execute executed search searched searching respond responded response
  state stated explain explained describe described suggest suggested contain contained contains containing
  appear appeared appears occur occurred one ones ever somewhere user users assistant agent bot customer model
  write wrote written complain complained request requested like did regarding concerning there
  dig dug pull pulled bring brought recollect recollection seeing noticed notice across idea ideas clue process processed deal
  dealt handle handled check checked checking entry entries record recorded records involve involved involving relate related
  regard other day days lately already past previous prior somewhere anywhere sometime session sessions lookup happening matter
  kindly hey hi hello maybe perhaps wonder wondering curious figure figured learn learned learnt turn turned out anyone anybody
  someone somebody nobody recent exact remembered recalled spoke speak spoken point pointed`)

/** Commands that begin a search request. */
export const OPENING_COMMANDS = list('find show search look tell remind recall give get list locate')

export type Speaker = 'user' | 'assistant' | 'tool'

/**
 * Patterns that show the role whose texts a query is about; the first match counts. They match the query in lower case.
 */
export const SPEAKER_FRAMES: readonly (readonly [Speaker, RegExp])[] = [
  [
    'user',
    /\b(?:i|we|he|she|they|user|customer|person|someone|anyone|who)\s+(?:\w+\s+)?(?:say|said|ask|asked|asks|asking|tell|told|write|wrote|mention|mentioned|request|requested|complain|complained|want|wanted|need|needed|report|reported|describe|described|state|stated|type|typed|searched|looked\s+(?:up|for))\b/u,
  ],
  [
    'user',
    /\b(?:did|do|have|had)\s+(?:i|we|the user|users?|the customer|someone|anyone|somebody)\s+(?:\w+\s+)?(?:say|said|ask|asked|tell|told|write|written|mention|mentioned|request|requested|complain|complained|want|wanted|need|report|describe|state|type|search|searched|look(?:ed)?\s+(?:up|for))\b/u,
  ],
  [
    'user',
    /\b(?:my|user'?s?|customer'?s?)\s+(?:own\s+)?(?:question|request|message|words|complaint|instruction|prompt)s?\b/u,
  ],
  [
    'assistant',
    /\b(?:you|assistant|agent|bot|model|ai)\s+(?:\w+\s+)?(?:say|said|says|tell|told|answer|answered|reply|replied|explain|explained|suggest|suggested|recommend|recommended|promise|promised|conclude|concluded|propose|proposed|offer|offered|apologi[sz]ed?|respond|responded|claim|claimed|describe|described|mention|mentioned|write|wrote|summari[sz]ed?|ask|asked)\b/u,
  ],
  [
    'assistant',
    /\b(?:your|assistant'?s?|agent'?s?|bot'?s?)\s+(?:\w+\s+)?(?:answer|reply|response|explanation|suggestion|recommendation|conclusion|summary|advice|message|question)s?\b/u,
  ],
  [
    'tool',
    /\b(?:call|called|calls|ran|run|running|executed?|invoked?|return(?:ed|s)?|steps?|look(?:ed)? at|outputs?|results?|c[ao]me (?:back|up)|tool|command)\b/u,
  ],
]
