"""The countries that questions are made of: capital, region, population and how well known.

Left out on purpose: countries with more than one capital or one that is disputed or moving,
countries on two continents, and populations near the edge of a band.
"""

from collections.abc import Iterator
from typing import NamedTuple

from project.quiz.choices import Difficulty, Population, Region


class Country(NamedTuple):
    """One country; `familiarity` is the difficulty at which it is asked about."""

    code: str
    name: str
    capital: str
    region: Region
    population: Population
    familiarity: Difficulty


_BANDS = dict(zip("01234", Population, strict=True))
_FAMILIARITY = {"e": Difficulty.EASY, "m": Difficulty.MEDIUM, "h": Difficulty.HARD}

# One country a line: ISO code, population band (0 tiny to 4 huge), familiarity, name, capital.
_TABLE = {
    Region.EUROPE: """
        FR 3e France: Paris
        DE 3e Germany: Berlin
        IT 3e Italy: Rome
        ES 3e Spain: Madrid
        GR 2e Greece: Athens
        PT 2e Portugal: Lisbon
        PL 3m Poland: Warsaw
        SE 2m Sweden: Stockholm
        NO 1m Norway: Oslo
        FI 1m Finland: Helsinki
        HU 1m Hungary: Budapest
        IS 0m Iceland: Reykjavik
        SI 1h Slovenia: Ljubljana
        EE 1h Estonia: Tallinn
        LV 1h Latvia: Riga
        MT 0h Malta: Valletta
    """,
    Region.ASIA: """
        JP 4e Japan: Tokyo
        CN 4e China: Beijing
        IN 4e India: New Delhi
        KR 3e South Korea: Seoul
        TH 3e Thailand: Bangkok
        VN 4m Vietnam: Hanoi
        PH 4m Philippines: Manila
        NP 2m Nepal: Kathmandu
        MN 1m Mongolia: Ulaanbaatar
        JO 2m Jordan: Amman
        BT 0h Bhutan: Thimphu
        LA 1h Laos: Vientiane
        KG 1h Kyrgyzstan: Bishkek
        TJ 2h Tajikistan: Dushanbe
        OM 1h Oman: Muscat
    """,
    Region.AFRICA: """
        EG 4e Egypt: Cairo
        KE 3e Kenya: Nairobi
        DZ 3e Algeria: Algiers
        TN 2e Tunisia: Tunis
        MA 3m Morocco: Rabat
        NG 4m Nigeria: Abuja
        ET 4m Ethiopia: Addis Ababa
        SN 2m Senegal: Dakar
        RW 2m Rwanda: Kigali
        NA 1h Namibia: Windhoek
        BW 1h Botswana: Gaborone
        ML 2h Mali: Bamako
        BF 2h Burkina Faso: Ouagadougou
        CV 0h Cabo Verde: Praia
    """,
    Region.NORTH_AMERICA: """
        US 4e United States: Washington, D.C.
        CA 3e Canada: Ottawa
        MX 4e Mexico: Mexico City
        JM 1m Jamaica: Kingston
        CR 1m Costa Rica: San José
        DO 2m Dominican Republic: Santo Domingo
        HN 2h Honduras: Tegucigalpa
        NI 1h Nicaragua: Managua
        BZ 0h Belize: Belmopan
        BS 0h Bahamas: Nassau
    """,
    Region.SOUTH_AMERICA: """
        BR 4e Brazil: Brasília
        AR 3e Argentina: Buenos Aires
        CL 2e Chile: Santiago
        CO 3e Colombia: Bogotá
        EC 2m Ecuador: Quito
        UY 1m Uruguay: Montevideo
        PY 1m Paraguay: Asunción
        GY 0h Guyana: Georgetown
        SR 0h Suriname: Paramaribo
    """,
    Region.OCEANIA: """
        AU 2e Australia: Canberra
        NZ 1e New Zealand: Wellington
        FJ 0m Fiji: Suva
        PG 2m Papua New Guinea: Port Moresby
        WS 0h Samoa: Apia
        VU 0h Vanuatu: Port Vila
        SB 0h Solomon Islands: Honiara
    """,
}


def _rows() -> Iterator[Country]:
    for region, table in _TABLE.items():
        for line in table.strip().splitlines():
            code, marks, rest = line.strip().split(" ", 2)
            name, capital = rest.split(": ")
            yield Country(code, name, capital, region, _BANDS[marks[0]], _FAMILIARITY[marks[1]])


COUNTRIES: tuple[Country, ...] = tuple(_rows())
BY_CODE: dict[str, Country] = {country.code: country for country in COUNTRIES}
