"""Common words by which decoded text is told from noise, and run-on letters are split.

Function words of seven languages (accents folded), and the everyday words of software and of
directions. Coverage matters more than exactness: a word missing here costs a decoding, and a
strange one costs nothing.
"""

COMMON_WORDS = frozenset(
    """
    a about above access account accounts act activate add additional address admin after again
    agent agents all allow also always an and answer any anyone anything api app application
    approve are as ask asked asking assistant assistants assume at attached authorized away back
    backup bank be because been before begin behave being below between branch browser build but
    by bypass call can cannot change chat check clear click client code come command commands
    commit complete computer config confirm contact contacts contain content contents context
    conversation copy could create credential credentials current curl customer data database day
    delete deploy destroy details developer did different directive directives directory disable
    disclose discard disregard do document documents does domain done dont download drop each
    earlier echo email emails enable end enter environment ever every everything exact example
    execute existing exit export external false fetch file files fill find first fix folder follow
    following for force forever forget format forward found from full function further future
    generate get git give given go good grant great group guidelines had has have he hello help
    henceforth her here hidden hide him his history home host how however human if ignore
    immediately important in include info inform information initial input insert inside install
    instead instruct instructed instruction instructions into is it its just keep key keys know
    last later leak legacy let like line link list load local lock log login logs long look machine
    main make manager many master may me memories memory mention merge message messages might mode
    model money more most move much must my name need network never new next no not note nothing
    notify now number obey of off office ok old on once one only open operator or order orders
    original other our out output over override owner package page pass passphrase password
    passwords path pay payment people permission permissions person phone place please point policy
    policies post prefer pretend previous previously print prior private program project prompt
    prompts protocol provide public publish pull push put query question quietly read real recall
    receive recommend record redirect regardless release remember remind remote remove repeat
    replace reply report repository request require respond response responses rest result results
    return reveal review right role root rule rules run runs safe safety same save say script
    scripts search second secret secrets secure security see send sent server service session set
    share shell should show silently since site skip so software some someone something source
    speak ssh start state stop store subject such suggest sure system systems take task tasks team
    tell test tests text than thank thanks that the their them then there these they thing think
    this those three time to token tokens tool tools top transfer transmit true trust trusted try
    two under unless unlock until up update upload upon url us use user users using value verify
    version very via visit was way we web website well were what when whenever where which while
    who whole why will with within without word words work world would write wrong year yes yet
    you your yourself

    alle alles anweisungen auf aus bei bisherigen bitte das dass dein deine dem den der des die
    diese diesen du ein eine einen er es fuhre fur hat ich ignoriere im immer in ist jetzt kein
    mir mit nach nicht nie noch nur oder regeln schicke sein sende sich sie sind system und uber
    vergiss vom von vor vorherigen werden wie wird zu zum zur

    au aux avec ce ces cette dans de des du elle en envoie envoyez est et etre fait il ignore
    ignorez instructions je la le les leur lui mais mon mot ne nous oublie oubliez ou par pas plus
    pour precedentes que qui sa sans ses son sont sur toi ton toujours tous tout toutes tu un une
    vos votre vous

    al ante anteriores con contrasena datos del desde el ella en envia era esta este esto fue
    haber hacer hay ignora ignorar instrucciones la las lo los mas me mi muy no nunca o olvida
    para pero por porque que se ser si siempre sin sobre su sus tambien te tiene todas todo todos
    una usuario y ya

    ao aos as com como da das de dele do dos ela ele em envie esqueca essa esse esta foi instrucoes
    isso ja mais mas na nao nas nem no nos o os ou pela pelo por quando sao se sem sempre senha
    seu sua tem todas todos um uma voce

    ai anche che chi ci come con da dal dalla dei del della delle di e dimentica gli i il invia
    ignora istruzioni io lei loro ma mai ne nel nella non per piu precedenti questo quello sempre
    si sono su sua suo tutte tutti tutto una uno

    bez chto dlya eto een het niet van voor vorige instructies negeer
    """.split()
)
