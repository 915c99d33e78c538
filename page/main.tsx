import { render } from 'preact'
import { App } from './shell/app.tsx'
import { followLinks } from './shell/place.ts'
import { applyTheme } from './shell/theme.ts'
import './style/theme.css'
import './style/shell.css'
import './style/session.css'
import './style/conversation.css'
import './style/markdown.css'
import './style/calls.css'
import './style/composer.css'
import './style/tools.css'
import './style/search.css'
import './style/charts.css'

applyTheme()
followLinks()
const root = document.getElementById('page')
if (root !== null) render(<App />, root)
