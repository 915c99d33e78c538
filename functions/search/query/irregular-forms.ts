/** Forms of irregular English verbs and nouns. `|` separates the words. */
const FORMS = `
  arise arose arisen|awake awoke awoken|bear bore borne|beat beaten|become became|begin began begun|bend bent|bind bound
  bite bit bitten|bleed bled|blow blew blown|break broke broken|bring brought|build built|burn burnt|buy bought
  catch caught|choose chose chosen|cling clung|come came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt
  drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found|flee fled
  fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen
  get got gotten getting|give gave given|go went gone goes going|grind ground|grow grew grown|hang hung|hear heard
  hide hid hidden|hold held|keep kept|kneel knelt|know knew known|lay laid|lead led|lean leant|learn learnt|leave left
  lend lent|lie lay lain lying|light lit|lose lost|make made|mean meant|meet met|pay paid|prove proven|ride rode ridden
  ring rang rung|rise rose risen|run ran running runs|say said says|see saw seen sees|seek sought|sell sold|send sent
  shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat sitting
  sleep slept|slide slid|speak spoke spoken|speed sped|spend spent|spin spun|stand stood|steal stole stolen|stick stuck
  sting stung|strike struck|swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken|teach taught
  tear tore torn|tell told|think thought|throw threw thrown|understand understood|wake woke woken|wear wore worn
  weave wove woven|weep wept|win won winning wins|wind wound|write wrote written|rewrite rewrote rewritten
  overwrite overwrote overwritten|withdraw withdrew withdrawn|undo undid undone|rebuild rebuilt|resend resent
  child children|man men|woman women|person people|foot feet|tooth teeth|goose geese|mouse mice|life lives|wife wives
  knife knives|leaf leaves|half halves|shelf shelves|thief thieves|loaf loaves|index indices indexes|matrix matrices
  vertex vertices|appendix appendices|analysis analyses|basis bases|crisis crises|axis axes|criterion criteria
  phenomenon phenomena|datum data|medium media|schema schemata|die died dying death dead|marry marriage
  bad worse worst|good better best|january jan|february feb|march mar|april apr|august aug|september sept sep|october oct
  november nov|december dec`

const BY_WORD = new Map<string, readonly string[]>()
for (const line of FORMS.trim().split(/\n\s*|\|/u)) {
  const words = line.split(' ')
  for (const word of words)
    BY_WORD.set(word, [...(BY_WORD.get(word) ?? []), ...words.filter((other) => other !== word)])
}

/** Returns the other forms of an irregular word; none for a regular word. */
export const irregularForms = (word: string): readonly string[] => BY_WORD.get(word) ?? []
